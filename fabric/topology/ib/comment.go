package ib

import (
	"fmt"
	"strings"

	"github.com/weft-sim/weft/sim/input"
)

// parseComment reads what follows the # of a port line: "desc" lid L RATE at a
// switch, lid L lmc M "desc" lid L RATE at an adapter.
func (e *cableEnd) parseComment(kind nodeKind, comment string) error {
	before, _, after, err := splitDescription(comment)
	if err != nil {
		return err
	}
	if kind == switchNode {
		after = before + " " + after
	} else {
		lid, lmc, err := lidAndLMC(before)
		if err != nil {
			return err
		}
		e.lid, e.lmc = int32(max(lid, 0)), uint8(max(lmc, 0))
	}
	lid, _, err := lidAndLMC(after)
	if err != nil {
		return err
	}
	e.peerLID = int32(lid)
	for _, word := range strings.Fields(after) {
		if looksLikeRate(word) {
			e.rate, err = parseRate(word)
			return err
		}
	}
	return nil
}

// splitDescription cuts a comment at its quoted description, which may itself
// contain quotes and #.
func splitDescription(comment string) (before, description, after string, err error) {
	first, last := strings.IndexByte(comment, '"'), strings.LastIndexByte(comment, '"')
	if first < 0 {
		return comment, "", "", nil
	}
	if first == last {
		return "", "", "", fmt.Errorf("the description %s has no closing quote", input.Quote(comment[first+1:]))
	}
	return comment[:first], comment[first+1 : last], comment[last+1:], nil
}

// lidAndLMC finds "lid 90" and "lmc 0"; -1 where there is none.
func lidAndLMC(text string) (lid, lmc int64, err error) {
	lid, lmc = -1, -1
	words := strings.Fields(text)
	for i, word := range words {
		if word != "lid" && word != "lmc" {
			continue
		}
		if i+1 == len(words) {
			return 0, 0, fmt.Errorf("%q without a number", word)
		}
		v, err := parseNumber(words[i+1], 16)
		switch {
		case err != nil:
			return 0, 0, fmt.Errorf("%s: %w", word, err)
		case word == "lid" && lid < 0:
			lid = int64(v)
		case word == "lmc" && v > 7:
			return 0, 0, fmt.Errorf("lmc %d: want 0 to 7", v)
		case word == "lmc" && lmc < 0:
			lmc = int64(v)
		}
	}
	return lid, lmc, nil
}
