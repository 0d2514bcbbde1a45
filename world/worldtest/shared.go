package worldtest

var shared []struct {
	name, law string
	test      func(a, b *rig)
}
