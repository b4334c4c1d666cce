"""Nothing: layers of keras-resnet are imported and not used where its networks are stood in for."""
