// Package ib reads and writes InfiniBand fabrics in the formats of ibnetdiscover,
// ibsim and OpenSM's forwarding tables, and gives networks InfiniBand's identities.
package ib
