//go:build !linux

package main

import "os"

// closedOutput tells whether standard output was closed when the process began,
// where that can be found out.
func closedOutput(file *os.File) bool {
	_, err := file.Stat()
	return err != nil
}
