package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the file anew")

// root is the module's directory, seen from this package's.
const root = "../../../.."

// TestTypesAreCurrent: the client has the types of the API as it is described today.
func TestTypesAreCurrent(t *testing.T) {
	t.Parallel()
	from, to := filepath.Join(root, description), filepath.Join(root, written)
	if *update {
		if err := write(from, to); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	want, err := generate(text)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	if strings.ReplaceAll(string(got), "\r\n", "\n") != string(want) {
		t.Errorf("%s is not what %s describes: go run ./internal/tools/clientpython/typeddicts writes it anew", written, description)
	}
}

// TestGenerate: what each kind of schema becomes.
func TestGenerate(t *testing.T) {
	t.Parallel()
	got, err := generate([]byte(`{
		"paths": {
			"/v1/things": {"post": {
				"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}},
				"responses": {"default": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Things"}}}}}
			}},
			"/v1/world/take": {"post": {
				"responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Wire"}}}}}
			}}
		},
		"components": {"schemas": {
			"Thing": {"type": "object", "description": "A thing.", "required": ["id"], "properties": {
				"id": {"type": "string", "description": "Its name."},
				"from": {"type": "integer"},
				"of": {"$ref": "#/components/schemas/Thing"},
				"most": {"type": "integer", "nullable": true},
				"at": {"oneOf": [{"type": "integer"}, {"type": "string"}]},
				"in": {"type": "object", "properties": {"any": {"nullable": true}}},
				"tags": {"type": "object", "additionalProperties": {"type": "string"}}
			}},
			"Things": {"type": "array", "items": {"$ref": "#/components/schemas/Thing"}},
			"Wire": {"type": "object", "properties": {"a": {"type": "string"}}}
		}}}`))
	if err != nil {
		t.Fatal(err)
	}
	const want = `

class ThingIn(TypedDict, total=False):
    any: Any


_ThingNamed0 = TypedDict("_ThingNamed0", {"from": "int"}, total=False)


_ThingNamed1 = TypedDict("_ThingNamed1", {"in": "ThingIn"}, total=False)


class _ThingRequired(TypedDict):
    # Its name.
    id: str


class Thing(_ThingNamed0, _ThingNamed1, _ThingRequired, total=False):
    """A thing."""

    at: Union[int, str]
    most: Optional[int]
    of: Thing
    tags: Dict[str, str]


Things = List[Thing]
`
	if string(got) != head+want {
		t.Errorf("got\n%s\nwant\n%s", got, head+want)
	}
	const dangling = `{"paths": {"/a": {"get": {"responses": {"200": {"content": {"a/b": {"schema": {"$ref": "No"}}}}}}}}}`
	if _, err := generate([]byte(dangling)); err == nil {
		t.Error("a schema that is not there: got no error")
	}
}
