package multicast

import (
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
)

// multicastAllreduce is the carrier that sums over the members of a group by both ways:
// vectors go to the sender up a binomial tree of unicast messages, and the result to all
// by the network's multicast. Multicast packets are datagrams, as in InfiniBand; nothing
// acknowledges them, as nothing is lost here (Hoefler, Siebert, Rehm, IPDPS 2007, send
// what is lost again along a chain). To combine two vectors costs nothing. The numbers of
// unicast messages follow those of groups.
type multicastAllreduce struct {
	*hardwareCarrier
	up *softwareCarrier
}

func newMulticastAllreduce(k *sim.Kernel, down *hardwareCarrier) (*multicastAllreduce, error) {
	up, err := newSoftwareCarrier(k, down.hosts, down.loop, "reduce-binomial", down.bytes)
	if err != nil {
		return nil, err
	}
	c := &multicastAllreduce{down, up}
	up.first, up.ends = int32(len(down.routes)), c
	return c, nil
}

// post implements carrier: all members call at once.
func (c *multicastAllreduce) post(now sim.Time, group, sender int) { c.up.post(now, group, sender) }

// complete is told that the sender has the result.
func (c *multicastAllreduce) complete(group int, at sim.Time) {
	c.hardwareCarrier.post(at, group, c.up.groups[group].sender)
}

// member implements carrier.
func (c *multicastAllreduce) member(message int32, t topology.TerminalID) (member int, takes bool) {
	if message < c.up.first {
		return c.hardwareCarrier.member(message, t)
	}
	return c.up.member(message, t)
}

// arrived implements carrier.
func (c *multicastAllreduce) arrived(a arrival) {
	if a.message < c.up.first {
		c.hardwareCarrier.arrived(a)
	} else {
		c.up.arrived(a)
	}
}

// archive implements carrier.
func (c *multicastAllreduce) archive(a *snapshot.Archive) {
	c.hardwareCarrier.archive(a)
	c.up.archive(a)
}
