package causes

import "testing"

func TestAlike(t *testing.T) {
	for _, c := range []struct {
		messages []string
		want     string
	}{
		{[]string{"no stock", "no stock"}, "no stock"},
		{[]string{"order 7 of 12", "order 1 of 400"}, "order # of #"},
		{[]string{"order-123abc is gone", "order-9f is gone"}, "order-# is gone"},
		{[]string{"x42: bad", "x7: bad"}, "x#: bad"},
		{[]string{"order123456: late", "order7: late"}, "order#: late"},
		{[]string{"connect 10.0.0.7:5432: refused", "connect 10.12.0.19:80: refused"}, "connect #.#.#.#:#: refused"},
		{[]string{"timeout after 1.5s", "timeout after 30.25s"}, "timeout after #.#s"},
		{[]string{"run wrun_01M89V21DQTXJJMDH346XKVDNZ is over", "run wrun_01M89V2RZ8AHFAHVEE3FYNN5JQ is over"}, "run # is over"},
		{[]string{"no 01m89v21dqtxjjmdh346xkvdnz", "no 01M89V2RZ8AHFAHVEE3FYNN5JQ"}, "no #"},
		{[]string{"user 3f2a9c1e-dead-beef-cafe-0123456789ab", "user 00000000-0000-4000-8000-abcdefabcdef"}, "user #"},
		{[]string{"blob 9f86d081884c7d65", "blob 60303ae22b998861"}, "blob #"},
		{[]string{"at 0x7f3a", "at 0x10"}, "at #x#"},
		{[]string{"key k3Jd92Lq", "key Zz81mmQ0"}, "key #"},
		{[]string{"facade is bad"}, "facade is bad"},
	} {
		for _, m := range c.messages {
			if got := Alike(m); got != c.want {
				t.Errorf("%q: got %q, want %q", m, got, c.want)
			}
		}
	}
}
