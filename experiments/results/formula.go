package results

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/sim/param"
)

// Formula is arithmetic over named values: + - * /, parentheses, numbers, min and
// max of two.
type Formula struct {
	text string
	root ast.Expr
}

// ParseFormula reads a formula in which only the given names may occur, each
// at least once.
func ParseFormula(text string, names []string) (*Formula, error) {
	root, err := parser.ParseExpr(text)
	if err != nil {
		return nil, fmt.Errorf("not a formula: want + - * /, parentheses, min(a, b) and max(a, b) over numbers and the names under of")
	}
	used := map[string]bool{}
	if err := checkFormula(root, names, used); err != nil {
		return nil, err
	}
	for _, name := range names {
		if !used[name] {
			return nil, fmt.Errorf("does not use %q, which is under of", name)
		}
	}
	return &Formula{text, root}, nil
}

// ParseFormulaOver reads a formula over some of the given names, and lists those.
func ParseFormulaOver(text string, names []string) (*Formula, []string, error) {
	root, err := parser.ParseExpr(text)
	if err != nil {
		return nil, nil, fmt.Errorf("not a formula: want + - * /, parentheses, min(a, b) and max(a, b) over numbers and columns")
	}
	used := map[string]bool{}
	if err := checkFormula(root, names, used); err != nil {
		return nil, nil, err
	}
	return &Formula{text, root}, SortedKeys(used), nil
}

func checkFormula(e ast.Expr, names []string, used map[string]bool) error {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return checkFormula(x.X, names, used)
	case *ast.UnaryExpr:
		if x.Op == token.SUB {
			return checkFormula(x.X, names, used)
		}
	case *ast.BinaryExpr:
		switch x.Op {
		case token.ADD, token.SUB, token.MUL, token.QUO:
			if err := checkFormula(x.X, names, used); err != nil {
				return err
			}
			return checkFormula(x.Y, names, used)
		}
	case *ast.BasicLit:
		if x.Kind == token.INT || x.Kind == token.FLOAT {
			if _, err := strconv.ParseFloat(x.Value, 64); err == nil {
				return nil
			}
		}
	case *ast.CallExpr:
		if _, known := formulaFunction(x); known && len(x.Args) == 2 && !x.Ellipsis.IsValid() {
			if err := checkFormula(x.Args[0], names, used); err != nil {
				return err
			}
			return checkFormula(x.Args[1], names, used)
		}
	case *ast.Ident:
		if slices.Contains(names, x.Name) {
			used[x.Name] = true
			return nil
		}
		return fmt.Errorf("has the unknown name %q%s: there are %s", x.Name, param.DidYouMean(x.Name, names), strings.Join(names, ", "))
	}
	return fmt.Errorf("not a formula: want + - * /, parentheses, min(a, b) and max(a, b) over numbers and names")
}

// Value computes the formula.
func (f *Formula) Value(of map[string]float64) float64 { return evaluate(f.root, of) }

// formulaFunction is the function that a call names.
func formulaFunction(call *ast.CallExpr) (f func(a, b float64) float64, ok bool) {
	name, _ := call.Fun.(*ast.Ident)
	switch {
	case name == nil:
	case name.Name == "min":
		return math.Min, true
	case name.Name == "max":
		return math.Max, true
	}
	return nil, false
}

func evaluate(e ast.Expr, of map[string]float64) float64 {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return evaluate(x.X, of)
	case *ast.UnaryExpr:
		return -evaluate(x.X, of)
	case *ast.BasicLit:
		v, err := strconv.ParseFloat(x.Value, 64)
		if err != nil {
			return math.NaN()
		}
		return v
	case *ast.Ident:
		return of[x.Name]
	case *ast.CallExpr:
		if f, ok := formulaFunction(x); ok {
			return f(evaluate(x.Args[0], of), evaluate(x.Args[1], of))
		}
	case *ast.BinaryExpr:
		a, b := evaluate(x.X, of), evaluate(x.Y, of)
		switch x.Op {
		case token.ADD:
			return a + b
		case token.SUB:
			return a - b
		case token.MUL:
			return a * b
		case token.QUO:
			return a / b
		}
	}
	panic(fmt.Sprintf("experiments: formula with %T", e)) // checkFormula lets nothing else pass
}

// Values is a column as numbers, or arithmetic over columns.
func (t *Table) Values(y string) ([]float64, error) {
	if slices.Contains(t.Columns, y) || !IsFormula(y) {
		return t.Numbers(y)
	}
	f, names, err := t.formula(y)
	if err != nil {
		return nil, err
	}
	columns := make([][]float64, len(names))
	for i, name := range names {
		if columns[i], err = t.Numbers(name); err != nil {
			return nil, err
		}
	}
	values := make([]float64, len(t.Rows))
	of := map[string]float64{}
	for i := range values {
		for j, name := range names {
			of[name] = columns[j][i]
		}
		values[i] = f.Value(of)
	}
	return values, nil
}

// IsFormula tells arithmetic from a name.
func IsFormula(text string) bool { return strings.ContainsAny(text, "+*/() ") }

// formula reads arithmetic over the columns of a table, and names those.
func (t *Table) formula(text string) (*Formula, []string, error) {
	f, names, err := ParseFormulaOver(text, t.Columns)
	if err != nil {
		return nil, nil, fmt.Errorf("%q: %w", text, err)
	}
	return f, names, nil
}
