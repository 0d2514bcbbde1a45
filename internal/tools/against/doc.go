// Package against holds what Stepwell writes for others to what others' libraries make of it: schemas to a validator of
// JSON Schema, the OpenAPI description and what holds answers to it to a reader of OpenAPI, alerts to a reader of YAML,
// and they and the dashboard to the metrics. Below it the web UI and the docs are held to
// a browser. It is a module of its own, so that nobody who uses Stepwell has any of these libraries.
package against
