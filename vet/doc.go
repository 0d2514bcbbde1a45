// Package vet finds, before a workflow runs, what the rules of workflow code forbid: one analyzer a rule of
// docs/rules.md.
//
// Workflow code is every function that has a [stepwell.Context] among its parameters, as nothing else can call an
// operation; the functions that are given to Go, Map and Await; and what these call, through packages, as far as it
// can be told. The bodies of steps are not, nor what the code of the host does.
//
// The analyzers run in go vet, in gopls and in golangci-lint. They are a module of their own, without the main one:
// who imports Stepwell has nothing of it. What a function of another package comes to travels as
// a fact.
package vet
