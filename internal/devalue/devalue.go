// Package devalue makes and reads values as Workflow DevKit writes them, as far as Stepwell has to: what people send
// to its runs, and what its runs say of errors. In logs they are bytes, which the client of its World writes as
// {"$text": …} where they are text, and as {"$bytes": …} else: see clients/wdk.
package devalue

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

const prefix = "devl"

// Of is a value of JSON as the DevKit writes it: a list of all that is in it, in which members are places. What is no
// JSON is null.
func Of(value json.RawMessage) json.RawMessage {
	var decoded any
	if json.Unmarshal(value, &decoded) != nil {
		decoded = nil
	}
	var all []json.RawMessage
	var put func(v any) int
	put = func(v any) int {
		at := len(all)
		all = append(all, nil)
		switch v := v.(type) {
		case []any:
			places := make([]int, len(v))
			for i := range v {
				places[i] = put(v[i])
			}
			all[at], _ = json.Marshal(places)
		case map[string]any:
			places := make(map[string]int, len(v))
			for k := range v {
				places[k] = put(v[k])
			}
			all[at], _ = json.Marshal(places)
		default:
			all[at], _ = json.Marshal(v)
		}
		return at
	}
	put(decoded)
	b, _ := json.Marshal(all)
	b, _ = json.Marshal(map[string]string{"$text": prefix + string(b)})
	return b
}

// largest is how much of a packed value is read.
const largest = 1 << 20

// Message is what a thrown value says, for people, as far as it can be read: values may be packed in ways, or
// encrypted, that are the DevKit's alone.
func Message(value json.RawMessage) string {
	const unread = "an error that Workflow DevKit has encoded"
	var v struct {
		Text  string `json:"$text"`
		Bytes []byte `json:"$bytes"`
	}
	if json.Unmarshal(value, &v) != nil {
		return unread
	}
	text := v.Text
	if len(v.Bytes) > 0 {
		text = unpacked(v.Bytes)
	}
	var all []json.RawMessage
	if text, ok := strings.CutPrefix(text, prefix); !ok || json.Unmarshal([]byte(text), &all) != nil {
		return unread
	}
	for _, b := range all {
		var o struct {
			Message *int `json:"message"`
		}
		if json.Unmarshal(b, &o) == nil && o.Message != nil && *o.Message >= 0 && *o.Message < len(all) {
			if text := textOf(all[*o.Message]); text != "" {
				return text
			}
		}
	}
	if len(all) > 0 && textOf(all[0]) != "" {
		return textOf(all[0])
	}
	return "it threw a value that is not an error"
}

// unpacked is a value that was packed, as the runtime does it: with gzip, or with zstd from Node 22.15 on; "": it
// cannot be read. What breaks off is not read by who gets it.
func unpacked(b []byte) string {
	kind, rest := b[:min(len(b), len(prefix))], bytes.NewReader(b[min(len(b), len(prefix)):])
	var from io.Reader
	switch string(kind) {
	case "gzip":
		z, err := gzip.NewReader(rest)
		if err != nil {
			return ""
		}
		from = z
	case "zstd":
		z, err := zstd.NewReader(rest, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
		if err != nil {
			return ""
		}
		defer z.Close()
		from = z
	default:
		return ""
	}
	text, _ := io.ReadAll(io.LimitReader(from, largest))
	return string(text)
}

// textOf reads what is a string; "" where it is none.
func textOf(b json.RawMessage) (s string) {
	_ = json.Unmarshal(b, &s)
	return s
}
