package sqlite

// identify tells nothing: a file that is open can be neither deleted nor moved here.
func identify(string) (fileID, error) { return fileID{}, nil }
