package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/world"
)

// TestValues: an input over 1 MiB is taken where bodies may be as large, shown as a reference, and given out whole.
func TestValues(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{MaxBody: 8 << 20})
	big := `{"customer":"` + strings.Repeat("x", 3<<20) + `","cents":1}`
	r.want(http.StatusCreated, "POST", "/v1/workflows/order/runs", `{"id":"big","delay":"1h","input":`+big+`}`)
	id, _ := r.want(200, "GET", "/v1/runs/big", "").get("input.stepwell:apart.id").(string)
	if world.CheckApart(id) != nil {
		t.Fatalf("the input refers to %q", id)
	}
	if a := r.want(200, "GET", "/v1/runs/big/values/"+id, ""); string(a.body) != big {
		t.Errorf("the value has %d bytes, want %d", len(a.body), len(big))
	}
	r.want(404, "GET", "/v1/runs/big/values/"+world.NewID(world.PrefixApart, world.Now()), "")
	r.want(400, "GET", "/v1/runs/big/values/x", "")
}
