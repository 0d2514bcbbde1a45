//go:build !linux

package sqlite

// Who holds what of a database is not told here.

func readersOf(string) []string { return nil }

func openersOf(string) []string { return nil }

func holderOf(string) string { return "" }
