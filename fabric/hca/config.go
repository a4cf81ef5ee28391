package hca

import (
	"math"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// Config is what there is to know about an adapter.
type Config struct {
	LinkRate       sim.Rate  `toml:"link_rate" doc:"data rate of the link, encoding taken off" min:"1kb/s"`
	PayloadShare   float64   `toml:"payload_share" doc:"share of link_rate that is left for payload beside headers and acknowledgements; 0: all" min:"0" max:"1"`
	DMARate        sim.Rate  `toml:"dma_rate" doc:"rate at which an engine moves data between memory and link" min:"1kb/s"`
	MTU            sim.Bytes `toml:"mtu" doc:"payload of a full packet" min:"1B" max:"1GiB"`
	RequestTime    sim.Time  `toml:"request_time" doc:"engine time per work request" min:"0ns" max:"1000s"`
	PacketTime     sim.Time  `toml:"packet_time" doc:"engine time per packet beyond its bytes" min:"0ns" max:"1000s"`
	PageTime       sim.Time  `toml:"page_time" doc:"engine time for every 4 KiB of a message whose memory is registered for it alone (protocol.register_page_time): where its pages are the adapter has to look up" min:"0ns" max:"1000s"`
	SendLatency    sim.Time  `toml:"send_latency" doc:"from the doorbell to the engine" min:"0ns" max:"1000s"`
	InlineLimit    sim.Bytes `toml:"inline_limit" doc:"largest request whose bytes go to the adapter with the doorbell; those of a larger one are fetched from memory" min:"0B"`
	InlineRate     sim.Rate  `toml:"inline_rate" doc:"rate at which bytes go with the doorbell; 0Gb/s: they take no time"`
	FetchTime      sim.Time  `toml:"fetch_time" doc:"beside send_latency, from the request of bytes in memory to the first of them" min:"0ns" max:"1000s"`
	FetchRate      sim.Rate  `toml:"fetch_rate" doc:"rate at which a packet is fetched whole before it goes out, while others are on their way; 0Gb/s: it goes out as it comes"`
	RecvLatency    sim.Time  `toml:"recv_latency" doc:"from the last byte to a completion that the process can see" min:"0ns" max:"1000s"`
	Quantum        sim.Bytes `toml:"quantum" doc:"bytes that a QP may send before the arbiter turns to the next active one" min:"1B"`
	Engines        int       `toml:"engines" doc:"QPs that take turns at the same time, each until a request of it is sent; the others wait in line; 1: requests are sent whole, 0: all take turns" unit:"QPs" min:"0"`
	ContextEntries int       `toml:"context_entries" doc:"QP contexts that the cache holds; 0: all" unit:"contexts" min:"0"`
	ContextMiss    sim.Time  `toml:"context_miss" doc:"engine time for loading a context from host memory" min:"0ns" max:"1000s"`
	MaxQP          int       `toml:"max_qp" doc:"QPs that it can have (max_qp of ibv_devinfo); more are warned of; 0: any number" unit:"QPs" min:"0"`
	QPCreate       sim.Time  `toml:"qp_create" doc:"CPU time for creating a QP in the kernel" min:"0ns" max:"1000s"`
	QPModify       sim.Time  `toml:"qp_modify" doc:"CPU time for bringing a new QP to ready-to-send" min:"0ns" max:"1000s"`
	QPDestroy      sim.Time  `toml:"qp_destroy" doc:"CPU time for closing a QP" min:"0ns" max:"1000s"`
	RNRDelay       sim.Time  `toml:"rnr_delay" doc:"delay until a sender repeats what found no receive buffer" min:"0ns" max:"1000s"`
}

// Validate implements the check of the registry.
func (c *Config) Validate() error {
	if c.PayloadShare > 0 && c.Rate() < 1000 {
		return &param.ParamError{Key: "payload_share", Value: c.PayloadShare, Want: "0, or what leaves 1 kb/s of link_rate"}
	}
	return nil
}

// Rate is how fast an engine moves data to or from the link.
func (c *Config) Rate() sim.Rate {
	link := c.LinkRate
	if c.PayloadShare > 0 {
		link = sim.Rate(math.Round(float64(link) * c.PayloadShare))
	}
	return min(c.DMARate, link)
}

// Delay is the time from reading a request of so many bytes until its first packet leaves; it
// occupies nothing.
func (c *Config) Delay(bytes int64) sim.Time {
	if bytes <= int64(c.InlineLimit) {
		return c.SendLatency + atRate(c.InlineRate, bytes)
	}
	return c.SendLatency + c.FetchTime + atRate(c.FetchRate, min(bytes, int64(c.MTU)))
}

// atRate is the time for so many bytes; 0 at a rate of 0.
func atRate(rate sim.Rate, bytes int64) sim.Time {
	if rate == 0 {
		return 0
	}
	return sim.Time(rate.PicosecondsFor(sim.Bytes(bytes)))
}

// TimeOf is the engine time for so many bytes of a packet.
func (c *Config) TimeOf(bytes int64) sim.Time {
	return sim.Time(c.Rate().PicosecondsFor(sim.Bytes(bytes))) + c.PacketTime
}

// QDR is a ConnectX-class adapter on 4x QDR InfiniBand.
//
// From the InfiniBand Architecture Specification: link_rate (4 lanes of 10 Gb/s, 8b/10b), mtu.
//
// Calibrated on the alltoall paper (64 B in 1.26 us, 64 KiB in 22.8 us, a small message among eight
// streams of 64 KiB in 29 us): dma_rate = 64 KiB / (22.8 - 1.26) us; quantum: the message waits for
// seven other QPs and on average half of the eighth's, 7.5 quanta in 29 - 1.26 us; the sum of
// send_latency, request_time and recv_latency with the overheads and the network latency of package
// mpi. How that sum is divided is an assumption.
//
// Assumed, of the order measured: the context cache, max_qp, qp_create, qp_modify, qp_destroy,
// rnr_delay.
var QDR = Config{
	LinkRate:       32e9,
	DMARate:        24.34e9,
	MTU:            2048,
	RequestTime:    50 * sim.Nanosecond,
	SendLatency:    250 * sim.Nanosecond,
	RecvLatency:    289 * sim.Nanosecond,
	Quantum:        11243,
	ContextEntries: 1024,
	ContextMiss:    500 * sim.Nanosecond,
	MaxQP:          1 << 17,
	QPCreate:       100 * sim.Microsecond,
	QPModify:       50 * sim.Microsecond,
	QPDestroy:      50 * sim.Microsecond,
	RNRDelay:       640 * sim.Microsecond,
}

// HDR is a ConnectX-6-class adapter on 4x HDR InfiniBand and PCIe 4.0 x16. From the InfiniBand
// roadmap: link_rate (4 lanes of 50 Gb/s). The rest is assumed, of the order of data sheets;
// nothing is calibrated.
var HDR = Config{
	LinkRate:       200e9,
	DMARate:        200e9,
	MTU:            4096,
	RequestTime:    10 * sim.Nanosecond,
	SendLatency:    200 * sim.Nanosecond,
	RecvLatency:    200 * sim.Nanosecond,
	Quantum:        16384,
	ContextEntries: 8192,
	ContextMiss:    300 * sim.Nanosecond,
	MaxQP:          1 << 18,
	QPCreate:       60 * sim.Microsecond,
	QPModify:       30 * sim.Microsecond,
	QPDestroy:      30 * sim.Microsecond,
	RNRDelay:       640 * sim.Microsecond,
}

// Registry holds the presets, each a starting point for one's own settings.
var Registry = param.NewRegistry[struct{}, Config]("hca")

// The generations beside [QDR] and [HDR] have the rate of four lanes, line coding taken off
// (InfiniBand Architecture Specification, volume 2, 5.2: FDR 14.0625 Gbaud with 64b/66b, EDR 25,
// NDR 100 Gb/s of data), and an engine that keeps up with it, as the buses of their time do.
// Assumed: the rest, as of [HDR]; nothing is calibrated.
func init() {
	linked := func(rate sim.Rate) Config {
		c := HDR
		c.LinkRate, c.DMARate = rate, rate
		return c
	}
	fdr := linked(54_545_454_545)
	fdr.MaxQP = QDR.MaxQP
	for _, p := range []struct {
		name, doc string
		config    Config
	}{
		{"qdr", "adapter on 4x QDR InfiniBand, calibrated on the alltoall paper", QDR},
		{"hdr", "adapter on 4x HDR InfiniBand, assumed values", HDR},
		{"fdr", "adapter on 4x FDR InfiniBand, assumed values", fdr},
		{"edr", "adapter on 4x EDR InfiniBand, assumed values", linked(100e9)},
		{"ndr", "adapter on 4x NDR InfiniBand, assumed values", linked(400e9)},
	} {
		param.Register(Registry, p.name, p.doc, p.config, func(c Config, _ struct{}) (Config, error) { return c, nil })
	}
}
