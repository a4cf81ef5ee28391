package ib

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
)

// discoverNode matches a node record whose id is made of a GUID.
var discoverNode = regexp.MustCompile(`(?m)^\s*(?:Switch|Ca|Rt)\s+\d+\s+"[SHR]-(?:0x)?[0-9A-Fa-f]+"`)

// dbNodes matches the beginning of the nodes of ibdiagnet's db_csv.
var dbNodes = regexp.MustCompile(`(?m)^\s*START_NODES\s*$`)

// anyNode matches a node record.
var anyNode = regexp.MustCompile(`(?m)^\s*(?:Switch|H?[Cc]a|Rt)\s+\d+\s*"`)

// ReadFile reads a network from a file in any format that is known:
// "ibnetdiscover", "ibdiagnet", "ibsim" or "json" (see [topology.FileConfig]). An
// empty format is found out from the content: JSON starts with a brace,
// ibnetdiscover's node ids are made of GUIDs.
func ReadFile(path, format string) (topology.Topology, error) {
	data, err := input.ReadInput(path, input.MaxInput)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be read: %w", path, err)
	}
	if err := input.CheckUTF8(data); err != nil {
		return nil, fmt.Errorf("%s:1: %w", path, err)
	}
	if format == "" {
		if format = formatOf(data); format == "" {
			return nil, fmt.Errorf("%s:1: neither ibnetdiscover output, ibdiagnet's db_csv, an ibsim netlist nor a topology in JSON", path)
		}
	}
	var im *Imported
	switch format {
	case "json":
		g, err := topology.ReadJSON(path, data)
		if err != nil {
			return nil, err
		}
		return topology.NewFileNetwork(g), nil
	case "ibnetdiscover":
		im, err = ReadNetDiscover(bytes.NewReader(data), path)
	case "ibdiagnet":
		im, err = ReadDBCSV(bytes.NewReader(data), path)
	case "ibsim":
		im, err = ReadSim(bytes.NewReader(data), path)
	default:
		return nil, errors.New("topology format " + format + ": want ibnetdiscover, ibdiagnet, ibsim or json")
	}
	if err != nil {
		return nil, err
	}
	return im, nil
}

// formatOf finds the format of a file out from its content; empty: it has none that
// is known.
func formatOf(data []byte) string {
	switch text := bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff"))); {
	case bytes.HasPrefix(text, []byte("{")):
		return "json"
	case dbNodes.Match(data):
		return "ibdiagnet"
	case discoverNode.Match(data):
		return "ibnetdiscover"
	case anyNode.Match(data):
		return "ibsim"
	}
	return ""
}

// otherFormat is the error for a file that cannot be read in one format, and is in
// another; else it is err.
func otherFormat(err error, path, format string, data []byte) error {
	is := formatOf(data)
	if is == "" || is == format {
		return err
	}
	if is == "json" {
		is = "file"
	}
	return fmt.Errorf("%s:1: this looks like topology.type = %q, not %q", path, is, format)
}
