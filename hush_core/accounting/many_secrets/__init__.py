"""Any number of secrets: profiles that share a bound, profiles that dominate, one noise for all."""
