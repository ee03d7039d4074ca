"""How short a description a value has: what is known of it, what it decodes to, what words it is made of."""
