// Package ib reads and writes InfiniBand fabrics as their tools do: topologies
// (ibnetdiscover, ibdiagnet, ibsim), forwarding tables, service levels of paths and
// SL2VL tables (OpenSM, infiniband-diags, ibdiagnet); and it gives networks
// InfiniBand's identities.
package ib
