package topology

import (
	"bytes"
	"fmt"
	"regexp"

	"github.com/weft-sim/weft/sim/input"
)

// foreign are forms of files that hold networks, or parts of such, that weft does not read, with what to do.
var foreign = []struct {
	name   string
	begins *regexp.Regexp // somewhere in the first bytes
	advice string
}{
	{"Slurm's topology.conf of blocks", regexp.MustCompile(`(?m)^\s*BlockName=`), "it names no switches; on InfiniBand, weft reads what ibnetdiscover prints"},
	{"Slurm's topology.yaml", regexp.MustCompile(`(?m)^\s*-\s*topology:\s`), "give the same switches as topology.conf has them, SwitchName= lines"},
	{"ibdiagnet's .lst", regexp.MustCompile(`(?m)^\s*\{\s*(CA|SW|RT|CA-SW)\s+Ports:`), "give the .db_csv of the same run, or what ibnetdiscover prints"},
	{"ibdiagnet's net_dump", regexp.MustCompile(`(?m)^\s*#\s*:\s*IB#\s*:`), "give the .db_csv of the same run, or what ibnetdiscover prints"},
	{"GraphML", regexp.MustCompile(`<graphml[\s>]`), "write a list of cables, as networkx.write_edgelist(networkx.read_graphml(FILE), OUT, data=False) does, for topology.type = \"edges\""},
	{"a platform of SimGrid", regexp.MustCompile(`<platform[\s>]`), "weft has generators for its clusters (fat tree, torus, dragonfly): see weft list topologies; or write a list of cables, for topology.type = \"edges\""},
}

// foreignBytes are the first bytes of a file by which it is told.
const foreignBytes = 1 << 16

// checkForeign refuses files that hold no network in any form that weft reads, and says what they are.
func checkForeign(name string, data []byte) error {
	if err := input.CheckUTF8(data); err != nil {
		return fmt.Errorf("%s:1: %w", name, err)
	}
	begin := data[:min(len(data), foreignBytes)]
	for _, f := range foreign {
		if f.begins.Match(begin) {
			return fmt.Errorf("%s:1: this is %s, which weft does not read: %s", name, f.name, f.advice)
		}
	}
	if bytes.IndexByte(begin, 0) >= 0 {
		return fmt.Errorf("%s:1: a binary file, which weft does not read as a network: of CODES, whose files of connections (intra, inter) are binary, write a list of cables from its program that made them, for topology.type = \"edges\"", name)
	}
	return nil
}
