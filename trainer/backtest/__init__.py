"""What nightly retraining would have brought on days that are known by now."""
