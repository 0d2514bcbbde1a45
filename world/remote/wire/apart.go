package wire

// This file has values that are kept apart from logs: see [world.Values].

import "github.com/stepwell/stepwell/world"

// ValueOf names a value that a run holds.
type ValueOf struct {
	Run   string `json:"run"`
	Value string `json:"value"`
}

// ValueKeys are the keys that values are encrypted with.
type ValueKeys struct {
	Answer
	Keys []world.ValueKey `json:"keys,omitempty"`
}

// PieceOf names a piece of a value.
type PieceOf struct {
	Run    string `json:"run"`
	Value  string `json:"value"`
	Number int    `json:"number"`
}

// Piece is a piece of a value that is to be kept.
type Piece struct {
	PieceOf
	Data []byte `json:"data"`          // base64
	Key  string `json:"key,omitempty"` // ID of the one that the value is encrypted with
}

// PieceData is a piece that was read.
type PieceData struct {
	Answer
	Value string `json:"value"`
	Data  []byte `json:"data"` // base64
}

// Whole reports whether it has what each has.
func (p *PieceData) Whole() bool { return p.Value != "" }
