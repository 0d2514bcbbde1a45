package sqlite

// checkpoint is written by the next commit.
func (wr *writer) checkpoint() {}
