// Package param holds the registries of models by name, and their settings: structs
// whose tags give key, unit, bounds and documentation. Everything that experiment
// files can name is registered here; their reference, their checks and the errors of
// wrong values are made from the tags.
package param
