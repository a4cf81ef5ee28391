// Package figures draws tables of results. A figure (config.go) goes one way: rows that it
// selects, parted into series (groups.go), the values of their points (draw.go, values.go),
// or those of bins (distribution.go), fields (heat.go) and categories (bars.go); then marks,
// colours and panels (marks.go), and numbers from elsewhere (reference.go). Package plot
// draws what comes of that, and data.go writes its numbers. Names of axes and series are in
// label.go.
package figures
