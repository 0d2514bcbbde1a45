// Package server is Stepwell over HTTP: the REST API, health checks, the web UI, and the protocols
// of remote workers, push endpoints and webhooks. It serves a [stepwell.App] and adds no rules of
// its own.
//
//	app, err := stepwell.New(w, stepwell.Config{})
//	api, err := server.New(app, server.Options{Keys: keys})
//	http.Handle("/", api)
//
// A program that serves nothing else calls [Server.Listen] and [Server.Serve], as the command
// stepwell server does.
//
// # Implementation
//
// [Server] looks up a route in one table (routes.go). The entry says what the route takes, who may
// use it, and what it answers. Before the handler runs, the request is checked against the entry:
// method, origin, key and scope, query parameters, type and size of the body. A handler returns an
// error, which one table (problem.go) turns into a problem document. openapi.json is generated from
// the same entries.
//
// Pages for people are in package ui, below /ui/: see pages.go.
//
// To add routes, write a function that returns their entries beside their handlers, and name it in
// routes.
package server
