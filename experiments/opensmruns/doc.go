// Package opensmruns holds weft's engines of OpenSM against tables that OpenSM
// computed. It reads a folder of fabrics and runs, repeats each run by the options
// that it was made with, and says whether forwarding tables, service levels and
// lanes are equal, entry by entry.
//
// The folder has index.tsv, one line for each fabric and run; in nets the fabrics
// (FABRIC.net, an ibsim netlist or ibnetdiscover's output, compressed or not) and
// the files that options name; and in runs/FABRIC, as far as they were kept,
// ports.tsv (LIDs), RUN.lft, RUN.sl and RUN.sl2vl in the reduced forms of
// [opensm.Tables]. A fabric without a file in nets is looked for as
// ../opensm/real/FABRIC-*.txt beside the folder.
package opensmruns
