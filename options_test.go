package stepwell

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stepwell/stepwell/internal/kit"
)

// TestOptionsAddUp: an option leaves what those before it said of other things, in any order.
func TestOptionsAddUp(t *testing.T) {
	t.Parallel()
	child := Define("kid", func(Context, int) (int, error) { return 0, nil }).Child
	want := childOptions{startOptions{ID: "a", Priority: 3, Timeout: time.Hour}, true}
	for _, opts := range [][]ChildOption{
		{Detached(), RunID("a"), Priority(3), Timeout(time.Hour)},
		{RunID("a"), Priority(3), Timeout(time.Hour), Detached()},
		{RunID("b"), Timeout(time.Hour), Detached(), RunID("a"), Priority(3)},
	} {
		if diff := cmp.Diff(want, child(opts...).opts, cmp.AllowUnexported(childOptions{}), cmpopts.IgnoreUnexported(startOptions{})); diff != "" {
			t.Errorf("child, %+v (-want +got):\n%s", opts, diff)
		}
	}
	start := startOptions{ID: "a", Key: "k", Delay: time.Second, Retention: time.Hour, Priority: 3, Context: map[string]string{"a": "b"}}
	for _, opts := range [][]StartOption{
		{Key("k"), Retention(time.Hour), RunID("a"), Delay(time.Second), Priority(3), Tags(map[string]string{"a": "b"})},
		{RunID("a"), Delay(time.Second), Tags(map[string]string{"a": "b"}), Key("k"), Priority(3), Retention(time.Hour)},
	} {
		var got startOptions
		if err := kit.Given(opts, func(o StartOption) { o.startOption(&got) }); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(start, got, cmpopts.IgnoreUnexported(startOptions{})); diff != "" {
			t.Errorf("start, %+v (-want +got):\n%s", opts, diff)
		}
	}
}
