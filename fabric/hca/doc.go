// Package hca models an InfiniBand host channel adapter: send queues of queue
// pairs (QPs), the arbiter that shares the DMA engine among the active ones, the
// cache of QP contexts and the receive engine.
//
// A message passes these stages:
//
//	post --SendLatency--> [DMA engine, send] --wire--> [DMA engine, receive] --RecvLatency--> completion
//
// SendLatency (doorbell, fetching the work request) and RecvLatency (writing
// data and completion to memory, polling) delay a message but occupy nothing.
// The engines are occupied: per work request, per packet, per byte at the
// slower of DMA and link rate, for turning to another QP, and for loading a QP
// context that is not cached. Sending and receiving do not disturb each other
// except through the context cache. The package keeps the state and says how
// long things take; whoever owns the clock schedules the events.
package hca
