"""What every layer shares and no layer owns: settings, files, hints, seeds, names that are on their way out."""
