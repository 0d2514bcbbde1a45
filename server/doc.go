// Package server is Stepwell over HTTP: the REST API, health, and the doors that others add. It is a [stepwell.App] with doors and has no
// rules of its own: what is legal, and what it means, the App and the world say.
//
//	app, err := stepwell.New(w, stepwell.Config{})
//	api, err := server.New(app, server.Options{Keys: keys})
//	http.Handle("/", api)
//
// A program that has nothing else to serve calls [Listen] and [Server.Serve]; the command stepwell server does.
//
// # How it is made
//
// [Server] looks up a route in one table (routes.go), which says what a route takes, who may use it, and what it answers. What a request
// must be is checked against that entry before its handler sees it: method, origin, key and scope, query parameters, type and size of the
// body. A handler returns an error, and one table (problem.go) makes a problem document of it. openapi.json is generated from the same
// entries.
//
// Pages for people are in package ui, below /ui/: see pages.go.
//
// To add routes, write a function that returns their entries beside their handlers, and name it in routes.
package server
