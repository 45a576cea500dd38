"""The workflow of admmbench, where `snakemake` looks first."""


include: "workflow/Snakefile"


rule everything:
    """What the rule `all` asks for: the default target is a rule of this file."""
    input:
        rules.all.input,
    localrule: True
