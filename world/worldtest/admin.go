package worldtest

// sweep sweeps once.
func (r *rig) sweep(limit int) int {
	r.Helper()
	n, err := r.w.Sweep(r.ctx, limit)
	r.must(err, "sweep")
	return n
}
