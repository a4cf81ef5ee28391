// Package goal reads, writes and replays schedules in the GOAL format of LogGOPSim
// and ATLAHS.
package goal
