// Package blob stores large values, of up to 1 GiB, which are written and read as streams and never
// whole in memory.
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
// A [Ref] can be part of any value: inputs, outputs, results, structs, lists. It can be passed to
// children, to the next segment and to a fork. Each run that gets the Ref in such a way holds the
// blob. A blob is durable before its Ref is, encrypted if its run is, and deleted with the last run
// that holds it. See docs/big-values.md.
package blob
