// Package release holds what releases are made with, and the tests that look into what came out. It is a module of its own, so that nobody who uses
// Stepwell has any of it.
package release
