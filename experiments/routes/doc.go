// Package routes computes and compares the routes of a fabric by OpenSM's engines:
// what one configured OpenSM would write into the switches ([Configured]), and
// what each engine makes of the load of a traffic pattern ([Compare]).
package routes
