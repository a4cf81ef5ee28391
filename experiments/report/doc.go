// Package report puts result folders into one HTML page without external
// resources: question, verdicts, figures, link maps, results, settings. The
// page is well-formed XML too.
package report
