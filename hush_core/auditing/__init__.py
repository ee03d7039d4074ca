"""Attacks on the trained model, to be read beside its certificate. docs/auditing.md says what each can show.

Reading order: alternatives → contexts → tokens → continuations → scores → exposure_estimates → exposure; spans →
lazy_sampling, k_extraction; calibrated_loss → roc → user_inference; intervals, best_guess → every_step;
refutation → against_certificate → document.

Import from the files: a reader of a kept audit (`document`) does not wait for torch.
"""
