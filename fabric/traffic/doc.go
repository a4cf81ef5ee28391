// Package traffic generates open-loop traffic: who sends to whom (patterns),
// when (injection processes) and how much (packet sizes). Everything draws from
// the stream that it is given and allocates nothing after construction.
package traffic
