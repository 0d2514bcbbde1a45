// Package vet finds violations of the rules of workflow code before a workflow runs: one analyzer
// for each rule of docs/rules.md.
//
// Workflow code is every function with a [stepwell.Context] parameter, the functions passed to Go,
// Map and Await, and the functions that these call, also in other packages, as far as the analysis
// can follow. Step bodies are not workflow code.
//
// The analyzers run in go vet, in gopls and in golangci-lint. They are a separate module, without
// the main one, so programs that import Stepwell do not depend on it. Facts carry results between
// packages.
package vet
