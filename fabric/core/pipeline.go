package core

// This file tells how long what happens in a switch takes.
