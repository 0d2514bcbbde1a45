// Package deploy holds deploy/ and .github/ to the tools that read them: Helm renders and lints the chart, Compose loads its file, actionlint reads the
// workflows. It is a module of its own, so that nobody who uses Stepwell has any of it.
package deploy
