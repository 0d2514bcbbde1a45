package stepwell

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestOptionsAddUp: an option leaves what those before it said of other things, in any order.
func TestOptionsAddUp(t *testing.T) {
	t.Parallel()
	child := Define("kid", func(Context, int) (int, error) { return 0, nil }).Child
	want := ChildOptions{ID: "a", Detached: true, Priority: 3, Timeout: time.Hour}
	for _, opts := range [][]ChildOption{
		{Detached(), ChildOptions{ID: "a", Priority: 3, Timeout: time.Hour}},
		{ChildOptions{ID: "a", Priority: 3, Timeout: time.Hour}, Detached()},
		{ChildOptions{ID: "b", Timeout: time.Hour}, Detached(), ChildOptions{ID: "a", Priority: 3}},
	} {
		if diff := cmp.Diff(want, child(opts...).opts); diff != "" {
			t.Errorf("child, %+v (-want +got):\n%s", opts, diff)
		}
	}
	start := StartOptions{ID: "a", Key: "k", Delay: time.Second, Retention: time.Hour, Priority: 3, Context: map[string]string{"a": "b"}}
	for _, opts := range [][]StartOption{
		{Key("k"), Retention(time.Hour), StartOptions{ID: "a", Delay: time.Second, Priority: 3, Context: map[string]string{"a": "b"}}},
		{StartOptions{ID: "a", Delay: time.Second, Context: map[string]string{"a": "b"}}, StartOptions{Key: "k", Priority: 3}, Retention(time.Hour)},
	} {
		var got StartOptions
		if err := given(opts, func(o StartOption) { o.startOption(&got) }); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(start, got, cmpopts.IgnoreUnexported(StartOptions{})); diff != "" {
			t.Errorf("start, %+v (-want +got):\n%s", opts, diff)
		}
	}
}
