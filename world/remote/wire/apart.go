package wire

// This file has values that are kept apart from logs: see [world.ApartKeeper].

// PieceOf names a piece of a value.
type PieceOf struct {
	Run    string `json:"run"`
	Value  string `json:"value"`
	Number int    `json:"number"`
}

// Piece is a piece of a value that is to be kept.
type Piece struct {
	PieceOf
	Data []byte `json:"data"` // base64
}

// PieceData is a piece that was read.
type PieceData struct {
	Answer
	Value string `json:"value"`
	Data  []byte `json:"data"` // base64
}

// Whole reports whether it has what each has.
func (p *PieceData) Whole() bool { return p.Value != "" }
