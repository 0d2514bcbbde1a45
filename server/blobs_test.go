package server

// Blobs are uploaded, and are inputs then.

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/blob"
)

type delivered struct {
	Rows blob.Ref `json:"rows"`
}

// countBytes counts what was uploaded.
var countBytes = stepwell.Define("count-bytes", func(ctx stepwell.Context, in delivered) (int64, error) {
	return stepwell.Step(ctx, "count", func(ctx context.Context) (int64, error) {
		rows, err := blob.Open(ctx, in.Rows)
		if err != nil {
			return 0, err
		}
		defer func() { _ = rows.Close() }()
		return io.Copy(io.Discard, rows)
	})
})

func TestUploadBlob(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, kind, Options{Keys: testKeys(t)}, countBytes)
			operator := []string{"Authorization", bearer(operatorSecret)}
			octet := append([]string{"Content-Type", "application/octet-stream"}, operator...)
			rows := strings.Repeat("a,b,c\n", 200_000) // over two pieces
			up := r.want(201, "POST", "/v1/blobs", rows, octet...)
			run, _ := up.get("run").(string)
			ref := string(up.body[strings.Index(string(up.body), `{"stepwell:blob"`) : len(strings.TrimSpace(string(up.body)))-1])
			if up.get("blob.stepwell:blob.size") != float64(len(rows)) {
				t.Fatalf("got %s", up.body)
			}
			r.want(201, "POST", "/v1/workflows/count-bytes/runs", `{"id": "`+run+`", "input": {"rows": `+ref+`}}`, operator...)
			if got := r.want(200, "GET", "/v1/runs/"+run+"?wait=30s", "", operator...).get("output"); got != float64(len(rows)) {
				t.Errorf("it counted %v", got)
			}
			if up = r.want(201, "POST", "/v1/blobs?run=b-1", "", octet...); up.get("run") != "b-1" || up.get("blob.stepwell:blob.size") != 0.0 {
				t.Errorf("an empty one: %s", up.body)
			}
			r.refused(415, "UNSUPPORTED_MEDIA_TYPE", "POST", "/v1/blobs", `{}`, operator...)
			r.refused(400, "INVALID", "POST", "/v1/blobs?run=a+b", "x", octet...)
			r.refused(400, "INVALID", "POST", "/v1/blobs?for=a", "x", octet...)
			r.refused(403, "FORBIDDEN", "POST", "/v1/blobs", "x", "Content-Type", "application/octet-stream", "Authorization", bearer(viewerSecret))
			r.refused(401, "UNAUTHENTICATED", "POST", "/v1/blobs", "x", "Content-Type", "application/octet-stream")
			if log := r.log.String(); !strings.Contains(log, "what=uploadBlob") || !strings.Contains(log, "run_id="+run) {
				t.Errorf("the audit log should have the upload: %s", log)
			}
		})
	}
}
