"""`combinations`: every unit, threat model, relation and sampling by method, as `admmbench account all` prints them."""

from sphinx.util.docutils import SphinxDirective

from admmbench.engine.combinations import markdown


class Combinations(SphinxDirective):
    """A table, and the reasons of refusals."""

    def run(self):
        """Account for every combination."""
        return self.parse_text_to_nodes(markdown())


def setup(app):
    """Extend Sphinx."""
    app.add_directive("combinations", Combinations)
    return {"parallel_read_safe": True}
