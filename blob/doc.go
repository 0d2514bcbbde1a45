// Package blob has values that are read and written as streams, and never are whole in memory: up to 1 GiB each.
//
//	pages, err := stepwell.Step(ctx, "export", func(ctx context.Context) (blob.Ref, error) {
//		return blob.Create(ctx, func(w io.Writer) error { return export(ctx, w) })
//	})
//	...
//	err = stepwell.Do(ctx, "upload", func(ctx context.Context) error {
//		r, err := blob.Open(ctx, pages)
//		if err != nil {
//			return err
//		}
//		defer r.Close()
//		return upload(ctx, r)
//	})
//
// A [Ref] travels as any value does: in inputs, outputs and results, in a struct or a list, to children and from
// them, to the next segment, to a fork. Its run holds what it refers to, and so does every run that it comes to in
// that way. It is durable before anybody is told of it, encrypted where the run is, and deleted with the last run
// that holds it. See docs/big-values.md.
package blob
