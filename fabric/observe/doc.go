// Package observe looks on while a network is simulated ([core.Observer]), and changes nothing:
// [Blame] divides the latency of packets among the channels that they wait for, [Tracer] records
// the lives of some, and [ChannelSeries] what channels carry in the course of time.
package observe
