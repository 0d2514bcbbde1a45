package vet

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTheSkill: the workflow that assistants learn from breaks no rule.
func TestTheSkill(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "skills", "stepwell", "SKILL.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := fence.FindSubmatch(text)
	if block == nil {
		t.Fatal("it has no Go")
	}
	dir := data(t)
	name := filepath.Join(dir, "skill", "skill.go")
	for _, f := range alone(t, dir, map[string]string{name: asFile(t, "", string(block[1]))})[name] {
		t.Errorf("%s: %s", f.Category, f.Message)
	}
}
