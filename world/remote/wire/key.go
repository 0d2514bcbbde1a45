package wire

// This file has the IDs of encryption keys.

// KeyQuery asks which key an ID stands for, and binds one that stands for none: see [world.KeyBook].
type KeyQuery struct {
	ID    string `json:"id"`
	Print []byte `json:"print,omitempty"` // the fingerprint, base64; none: it only asks
}

// KeyPrint is the fingerprint that an ID is bound to; none: it is bound to none.
type KeyPrint struct {
	Answer
	ID    string `json:"id"`
	Print []byte `json:"print,omitempty"`
}

// Whole reports whether it has what each has.
func (k *KeyPrint) Whole() bool { return k.ID != "" }
