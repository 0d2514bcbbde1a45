// Package against holds what Stepwell writes for others to what others' libraries make of it: schemas to a validator of
// JSON Schema, alerts and a dashboard to a reader of YAML and to the metrics. It is a module of its own, so that nobody who
// uses Stepwell has any of these libraries.
package against
