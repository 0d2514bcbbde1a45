package devalue

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`{"n":[1,"x",null]}`: `devl[{"n":1},[2,3,4],1,"x",null]`,
		`"a"`:                `devl["a"]`,
		`nothing`:            `devl[null]`,
	} {
		var got struct {
			Text string `json:"$text"`
		}
		if err := json.Unmarshal(Of(json.RawMessage(value)), &got); err != nil || got.Text != want {
			t.Errorf("%s: %s, %v; want %s", value, got.Text, err, want)
		}
	}
}

func TestMessage(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(`devl[{"message":1},"packed"]`))
	_ = z.Close()
	inBytes, _ := json.Marshal(map[string][]byte{"$bytes": append([]byte("gzip"), packed.Bytes()...)})
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	inZstd, _ := json.Marshal(map[string][]byte{"$bytes": w.EncodeAll([]byte(`devl[{"message":1},"packed anew"]`), []byte("zstd"))})
	for value, want := range map[string]string{
		`{"$bytes":"enN0ZAAA"}`: "an error that Workflow DevKit has encoded",
		string(inZstd):          "packed anew",
		`{"$text":"devl[{\"message\":1},\"broken\"]"}`: "broken",
		`{"$text":"devl[\"a string\"]"}`:               "a string",
		`{"$text":"devl[{\"message\":9}]"}`:            "it threw a value that is not an error",
		`{"$text":"encr…"}`:                            "an error that Workflow DevKit has encoded",
		`{"$bytes":"AAAA"}`:                            "an error that Workflow DevKit has encoded",
		`7`:                                            "an error that Workflow DevKit has encoded",
		string(inBytes):                                "packed",
	} {
		if got := Message(json.RawMessage(value)); got != want {
			t.Errorf("%s: %s, want %s", value, got, want)
		}
	}
	if got := Message(Of(json.RawMessage(`"round"`))); got != "round" {
		t.Errorf("what Of has made says %q", got)
	}
}
